import { PrismaPg } from "@prisma/adapter-pg";
import * as runtime from "@prisma/client/runtime/client";

/**
 * A client of Prisma without models, as its generator would write it: the generator itself needs programs that are not on
 * npm, and what is tested here is the transaction that the client hands over.
 */
const Client = runtime.getPrismaClient({
  previewFeatures: [],
  clientVersion: "7.10.0",
  engineVersion: "d1b3f377ca835d73fd50954a5e22128b9ebdd6b8",
  activeProvider: "postgresql",
  inlineSchema:
    'generator client {\n  provider = "prisma-client"\n}\ndatasource db {\n  provider = "postgresql"\n}\n',
  runtimeDataModel: { models: {}, enums: {}, types: {} },
  parameterizationSchema: { strings: [], graph: "AAAA" },
  compilerWasm: {
    getRuntime: async () => await import("@prisma/client/runtime/query_compiler_fast_bg.postgresql.mjs"),
    getQueryCompilerWasmModule: async () => {
      const { wasm } = await import(
        "@prisma/client/runtime/query_compiler_fast_bg.postgresql.wasm-base64.mjs"
      );
      return new WebAssembly.Module(Uint8Array.fromBase64(wasm));
    },
    importName: "./query_compiler_fast_bg.js",
  },
});

/** What is used of it. */
export interface PrismaTestClient {
  $queryRawUnsafe(text: string, ...params: unknown[]): Promise<unknown>;
  $transaction<T>(body: (tx: Omit<PrismaTestClient, "$transaction">) => Promise<T>): Promise<T>;
  $disconnect(): Promise<void>;
}

/** Connects through `pg`, as applications do. */
export function connectPrisma(url: string): PrismaTestClient {
  const adapter = new PrismaPg({ connectionString: url });
  return new Client({ adapter } as never) as unknown as PrismaTestClient;
}
