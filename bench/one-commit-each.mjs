// Loaded before the service, it has each pet committed by itself, to show what sharing commits is worth.
const PETS = '../dist/modules/src/adapters/persistence/typeorm/pets';
const { TypeOrmPetRepository } = await import(`${PETS}/typeorm-pet.repository.js`);
const { addTogether } = await import(`${PETS}/idempotent-add.js`);

TypeOrmPetRepository.prototype.add = async function (pet, key) {
  const addition = { pet, key };
  const [outcome] = await this.commit([addition], undefined, (engine) => addTogether(engine, [addition]));
  return outcome;
};
