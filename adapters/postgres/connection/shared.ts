import { Contact } from "./contact.ts";
import { NotifyQueue } from "./notify_queue.ts";
import { Route } from "./route.ts";
import { RowSecurity } from "./row_security.ts";

/** What the databases of a store find out for each other, because they are one and the same. */
export interface Shared {
  /** Whether it answers. */
  readonly contact: Contact;
  /** What is on the way to it. */
  readonly route: Route;
  /** Whether the role sees all rows. */
  readonly rowSecurity: RowSecurity;
  /** Whether it takes notifications. */
  readonly notifyQueue: NotifyQueue;
}

/** Nothing is known yet. */
export function newShared(): Shared {
  return {
    contact: new Contact(),
    route: new Route(),
    rowSecurity: new RowSecurity(),
    notifyQueue: new NotifyQueue(),
  };
}
