import type { Composition } from "../ports/composition.ts";
import { PERIODIC_PREFIX } from "../ports/limits.ts";
import type { Declared } from "../ports/store.ts";
import { keyRuleOf } from "../shared/key_rule.ts";

/** What others may enqueue beside the runtime. */
export function declaredOf(composition: Composition): Declared {
  const kinds = [...composition.kinds.values()].filter(({ name }) => !name.startsWith(PERIODIC_PREFIX));
  return {
    kinds: kinds.map((kind) => {
      const { name, queue, maxAttempts } = kind;
      const rule = keyRuleOf(kind);
      return { name, queue, maxAttempts, ...(rule === null ? {} : { rule }) };
    }),
    queues: [...composition.queues.keys()],
  };
}
