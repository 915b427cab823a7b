import type { Kind, Settings } from "../../../../mod.ts";
import type { CompositionInput } from "../../../../ports/composition.ts";
import type { MigrationStep } from "../../../../ports/database.ts";

/** What a release of an application is made of. */
export interface Release {
  /** Its number, which its handlers return. */
  readonly number: number;
  /** How many of the part's steps it knows. */
  readonly steps: number;
  /** The kinds that it declares. */
  readonly kinds: readonly string[];
}

/** What the module of a release exports. */
export type Application = CompositionInput & { readonly settings?: Partial<Settings> };

/** Releases before 2 read the column that the last step drops. */
const STEPS: readonly MigrationStep[] = [
  {
    version: 1,
    name: "create stock",
    up: "create table {schema}.stock (item text, number int)",
    down: "drop table {schema}.stock",
  },
  {
    version: 2,
    name: "amounts",
    up: "alter table {schema}.stock add column amount numeric",
    down: "alter table {schema}.stock drop column amount",
  },
  {
    version: 3,
    name: "no more numbers",
    up: "alter table {schema}.stock drop column number",
    down: "alter table {schema}.stock add column number int",
    leastVersion: 2,
  },
];

/** One release of an application whose tables and kinds change. */
export function release({ number, steps, kinds }: Release): Application {
  return {
    registrars: [{
      kinds: kinds.map((name): Kind => ({
        name,
        queue: "default",
        maxAttempts: 3,
        timeout: 10_000,
        handler: () => `release ${number}`,
      })),
      migrations: [{ part: "stock", steps: STEPS.slice(0, steps) }],
    }],
    settings: { pollMs: 100, heartbeatMs: 300, lostAfterMs: 1500, leaseMs: 1500, stopGraceMs: 2000 },
  };
}
