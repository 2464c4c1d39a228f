// Loaded before the service, it has each pet committed by itself, to show what sharing commits is worth.
const { createPets } = await import('../dist/modules/src/adapters/persistence/typeorm/pets/pet-table.js');
const { TypeOrmPetRepository } =
  await import('../dist/modules/src/adapters/persistence/typeorm/pets/typeorm-pet.repository.js');

TypeOrmPetRepository.prototype.add = function (pet) {
  return this.executor.run('transaction', 'INSERT pet', async (manager) => (await createPets(manager, [{ pet }]))[0]);
};
