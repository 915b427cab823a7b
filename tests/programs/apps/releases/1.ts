import { type Application, release } from "./release.ts";

const application: Application = release({ number: 1, steps: 1, kinds: ["stock.count"] });
export default application;
