// Loaded before the service, it has each animal committed by itself, to show what sharing commits is worth.
const { TypeOrmPetRepository } =
  await import('../dist/modules/src/adapters/persistence/typeorm/typeorm-pet.repository.js');

TypeOrmPetRepository.prototype.add = async function (pet, once) {
  const [outcome] = await this.database.run((engine) => engine.addPets([{ pet, once }]));
  this.ownChanges++;
  return outcome;
};
