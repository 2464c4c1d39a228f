// Loaded before the service, it has each pet committed by itself, to show what sharing commits is worth.
const PETS = '../dist/modules/src/adapters/persistence/typeorm/pets';
const { TypeOrmPetRepository } = await import(`${PETS}/typeorm-pet.repository.js`);

TypeOrmPetRepository.prototype.add = async function (pet, key) {
  const [outcome] = await this.database.admit((deadline) => this.addAll([{ pet, key }], deadline));
  return outcome;
};
