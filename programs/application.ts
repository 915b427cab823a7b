import type { EventSettings, Queue, Settings } from "../mod.ts";
import type { CompositionInput } from "../ports/composition.ts";
import { errorText } from "../ports/error_text.ts";
import type { RegistrarInput } from "../ports/registrar.ts";
import { applicationUrl } from "./application_place.ts";

/** The default export of an application's module. */
export interface Application extends Omit<CompositionInput, "registrars"> {
  /** The registrars, one per domain. */
  readonly registrars: readonly RegistrarInput[];
  /** The runtime's timing and size settings. */
  readonly settings?: Partial<Settings>;
  /** The timing and bounds of events. */
  readonly events?: Partial<EventSettings>;
}

/**
 * Loads an application's module.
 *
 * @param specifier A path relative to the working directory, or a URL.
 * @throws {Error} if it does not load, or its default export is not a composition.
 */
export async function loadApplication(specifier: string): Promise<Application> {
  let module: { default?: unknown };
  try {
    module = await import(applicationUrl(specifier).href);
  } catch (error) {
    throw new Error(`Cannot load the application ${specifier}: ${errorText(error)}`, { cause: error });
  }
  const application = module.default;
  if (!isApplication(application)) {
    throw new Error(
      `Cannot use the application ${specifier}: expected a default export { registrars: [...], queues?: [...] }`,
    );
  }
  return application;
}

/** The names of an application's queues. */
export function queueNames(application: Application): string[] {
  const declared = (application.queues ?? [{ name: "default" }]).map((queue) => queue?.name);
  return [...new Set(["maintenance", ...declared])];
}

function isApplication(value: unknown): value is Application {
  if (typeof value !== "object" || value === null) return false;
  const { registrars, queues } = value as {
    registrars?: readonly RegistrarInput[];
    queues?: readonly Queue[];
  };
  return Array.isArray(registrars) && (queues === undefined || Array.isArray(queues));
}
