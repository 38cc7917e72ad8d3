import { existsSync, readFileSync } from "node:fs";
import { inject } from "vitest";
import { eventually } from "../fakes/eventually.ts";

const file = inject("imageFile");
await eventually("the base image", async () => existsSync(file) || null, 10 * 60_000);
const problem = readFileSync(file, "utf8");
if (problem !== "") throw new Error(`There is no base image: ${problem}`);
