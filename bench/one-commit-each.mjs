// Loaded before the service, it has each pet committed by itself, to show what sharing commits is worth.
const { insertPets } = await import('../dist/modules/src/adapters/persistence/typeorm/pets/pet.schema.js');
const { TypeOrmPetRepository } =
  await import('../dist/modules/src/adapters/persistence/typeorm/pets/typeorm-pet.repository.js');

TypeOrmPetRepository.prototype.add = function (pet) {
  return this.database.run('transaction', 'INSERT pet', async (manager) => {
    const [id] = await insertPets(manager, [pet]);
    return { pet: { id, ...pet }, replayed: false };
  });
};
