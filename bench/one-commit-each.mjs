// Loaded before the service, it has each pet committed by itself, to show what sharing commits is worth.
const PETS = '../dist/modules/src/adapters/persistence/typeorm/pets';
const { TypeOrmPetRepository } = await import(`${PETS}/typeorm-pet.repository.js`);

TypeOrmPetRepository.prototype.add = function (pet) {
  return this.database.run('write', 'INSERT pet', async (manager) => (await this.addAll(manager, [pet]))[0]);
};
