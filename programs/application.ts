import type { EventSettings, Queue, Settings } from "../mod.ts";
import type { CompositionInput } from "../ports/composition.ts";
import { errorText } from "../ports/error_text.ts";
import type { RegistrarInput } from "../ports/registrar.ts";
import { applicationUrl } from "./application_place.ts";

/** What the default export of an application's module holds. */
export interface Application extends Omit<CompositionInput, "registrars"> {
  /** One per domain. */
  readonly registrars: readonly RegistrarInput[];
  /** Times and sizes of the runtime. */
  readonly settings?: Partial<Settings>;
  /** Times and bounds of events. */
  readonly events?: Partial<EventSettings>;
}

/**
 * Loads an application's module.
 *
 * @param specifier A path, counted from the working directory, or a URL.
 * @throws {Error} it does not load, or its default export is no composition.
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

/** The names of the queues that an application has. */
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
