// What the examples of the documents and of the doc comments take for granted: a script, so that all of it is global.

type Main = typeof import("../../mod.ts");

// A runtime, and what a handler or a registrar has at hand.
declare const millrace: import("../../mod.ts").PostgresRuntime;
declare const runtime: import("../../mod.ts").PostgresRuntime;
declare const jobs: import("../../mod.ts").Jobs;
declare const ctx: import("../../mod.ts").JobContext;
declare const log: import("../../mod.ts").Log;
declare const database: import("../../mod.ts").Database;
declare const url: string;

// Drivers and ORMs with a transaction under way.
declare const sql: import("npm:postgres@3.4.9").Sql;
declare const tx: import("npm:postgres@3.4.9").TransactionSql;
declare const pool: import("npm:pg@8.23.1").Pool;
declare const client: import("npm:pg@8.23.1").PoolClient;
declare const db:
  & import("npm:drizzle-orm@0.45.4/node-postgres").NodePgDatabase
  & Pick<import("npm:kysely@0.29.9").Kysely<{ orders: { id: string } }>, "transaction">;
declare const prisma: {
  $transaction<T>(
    body: (
      tx: import("../../transactions/mod.ts").PrismaTransaction & {
        readonly order: { create(row: object): Promise<{ readonly id: string }> };
      },
    ) => Promise<T>,
  ): Promise<T>;
};
declare const dataSource: import("npm:typeorm@1.1.1").DataSource;
declare class Order {
  id: string;
}

// Domains of an application, and their declarations.
declare const orders: import("../../mod.ts").Registrar & import("npm:drizzle-orm@0.45.4/pg-core").PgTable;
declare const mail: import("../../mod.ts").Registrar;
declare const search: import("../../mod.ts").Registrar;
declare const housekeeping: import("../../mod.ts").Registrar;
declare const webhooks: import("../../webhooks/mod.ts").Webhooks;
declare const reportBuild: import("../../mod.ts").Kind;
type Schema<T> = import("../../mod.ts").ArgsSchema<T>;
declare const orderMail: import("../../mod.ts").TypedKind<"order.mail", Schema<{ orderId: string }>>;
declare const indexProduct: import("../../mod.ts").TypedKind<"product.index", Schema<{ productId: string }>>;
declare const handler: import("../../mod.ts").Handler;
declare const where: string;

// An order, a request, and what is done with them.
declare const order: { readonly id: string; readonly total: number };
declare const orderId: string;
declare const id: string;
declare const ids: string[];
declare const row: Record<string, string>;
declare const rows: Record<string, string>[];
declare const user: string;
declare const total: number;
declare const eventTypes: string[];
declare const session: { readonly tenantId: string };
declare const request: Request & { readonly params: { readonly id: string } };
declare const secret: string;
declare function send(orderId: string, language: string, signal: AbortSignal): Promise<void>;
declare function render(orderId: string, signal: AbortSignal): Promise<string>;
declare function index(productId: string, signal: AbortSignal): Promise<void>;
declare function placeOrder(jobs: import("../../mod.ts").Jobs, order: { readonly id: string }): Promise<void>;
declare function handleOnce(id: string, event: unknown): Promise<void>;
declare function lookUpSomewhere(hostname: string): Promise<string[]>;
declare const mailsSent: number;
declare const response: Response;
declare function reportIsReady(): Promise<boolean>;

// Names of the package where an example leaves its import out.
declare const typedJobs: Main["typedJobs"];
declare const snooze: Main["snooze"];
declare const discard: Main["discard"];
declare const defineApp: Main["defineApp"];
declare const deliverTwice: Main["deliverTwice"];
declare const createMemoryRuntime: Main["createMemoryRuntime"];
declare const reconcilePending: Main["reconcilePending"];
declare const reconcilePeriodic: Main["reconcilePeriodic"];
declare const createTestBench: typeof import("../../testing/mod.ts").createTestBench;
declare const createPostgresStore: typeof import("../../adapter/mod.ts").createPostgresStore;
declare const Webhooks: typeof import("../../webhooks/mod.ts").Webhooks;
declare const WebhookVerificationError:
  typeof import("../../events/signing/verify.ts").WebhookVerificationError;
declare const drizzleTx: typeof import("../../transactions/mod.ts").drizzleTx;
declare const kyselyTx: typeof import("../../transactions/mod.ts").kyselyTx;
declare const pgTx: typeof import("../../transactions/mod.ts").pgTx;
declare const prismaTx: typeof import("../../transactions/mod.ts").prismaTx;
declare const typeOrmTx: typeof import("../../transactions/mod.ts").typeOrmTx;
declare const assertEquals: typeof import("../support/assert.ts").assertEquals;
type Handler = import("../../mod.ts").Handler;
type MigrationStep = import("../../mod.ts").MigrationStep;
type RegistrarInput = import("../../mod.ts").RegistrarInput;
