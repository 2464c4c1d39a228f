// Loaded before the service, it breaks a promise of the store, so that the crash test can show that it would notice.
// SABOTEUR says which promise; MODULES is the folder of the modules that it is built from.
const { TypeOrmPetRepository } = await import(
  new URL('src/adapters/persistence/typeorm/pets/typeorm-pet.repository.js', process.env.MODULES).href
);
const add = TypeOrmPetRepository.prototype.add;
let calls = 0;
let lastId;

const saboteurs = {
  /** Acknowledges at once, and stores a moment later. */
  async early(pet, key) {
    if (lastId === undefined) {
      const added = await add.call(this, pet, key);
      lastId = added.pet.id;
      return added;
    }
    setTimeout(() => void add.call(this, pet, key), 40);
    return { pet: { id: ++lastId, ...pet }, replayed: false };
  },

  /** Acknowledges one in 20 without storing it. */
  async drops(pet, key) {
    if (++calls % 20 === 0 && lastId !== undefined) return { pet: { id: lastId + 1n, ...pet }, replayed: false };
    const added = await add.call(this, pet, key);
    lastId = added.pet.id;
    return added;
  },

  /** Acknowledges one in two that it could not store. */
  async overfull(pet, key) {
    try {
      const added = await add.call(this, pet, key);
      lastId = added.pet.id;
      return added;
    } catch (error) {
      if (++calls % 2 === 0) throw error;
      return { pet: { id: ++lastId, ...pet }, replayed: false };
    }
  },

  /** Stores one in 20 twice. */
  async doubles(pet, key) {
    if (++calls % 20 === 0) await add.call(this, pet);
    return add.call(this, pet, key);
  },
};

if (process.env.SABOTEUR === 'forgets') {
  const forget = TypeOrmPetRepository.prototype.forgetIdempotencyKeys;
  /** Forgets keys before their time is over. */
  TypeOrmPetRepository.prototype.forgetIdempotencyKeys = function () {
    return forget.call(this, new Date());
  };
} else {
  TypeOrmPetRepository.prototype.add = saboteurs[process.env.SABOTEUR];
}
