// Loaded before the service, it has the forgetting of idempotency keys begin at once rather than every ten minutes, and says each step on
// standard output. MODULES is the folder of the modules that the service is built from.
const { TypeOrmPetRepository } = await import(
  new URL('src/adapters/persistence/typeorm/pets/typeorm-pet.repository.js', process.env.MODULES).href
);
const forget = TypeOrmPetRepository.prototype.forgetIdempotencyKeys;
TypeOrmPetRepository.prototype.forgetIdempotencyKeys = async function (before) {
  const forgotten = await forget.call(this, before);
  process.stdout.write(`forgot ${forgotten}\n`);
  return forgotten;
};

const every = globalThis.setInterval;
globalThis.setInterval = (work, milliseconds, ...args) => every(work, Math.min(milliseconds, 50), ...args);
