import type { Store } from "../../../ports/store.ts";

/** A store, some of whose methods answer in another way. */
export function changed(store: Store, changes: Partial<Store>): Store {
  return new Proxy(store, {
    get(target, name) {
      const value = Reflect.get(changes, name) ?? Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
