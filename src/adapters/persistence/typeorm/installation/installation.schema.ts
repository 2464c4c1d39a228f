import { EntitySchema } from 'typeorm';

/** A fact of the installation, by its name. */
export interface InstallationFact {
  readonly name: string;
  readonly value: string;
}

/** How the facts of the installation are kept. */
export const InstallationSchema = new EntitySchema<InstallationFact>({
  name: 'installation',
  columns: {
    name: { type: 'varchar', length: 64, primary: true },
    value: { type: 'varchar', length: 255 },
  },
});
