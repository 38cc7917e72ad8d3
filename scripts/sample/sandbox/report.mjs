#!/usr/bin/env node
// Prints the counts of the previous task, and shows that the sandbox reaches no network.
import { lookup } from "node:dns/promises";
import { readFileSync, writeFileSync } from "node:fs";

const counts = Object.entries(JSON.parse(readFileSync("/outputs/words.json", "utf8")));
const lines = counts.map(([name, count]) => `${String(count).padStart(5)} words in ${name}`);
writeFileSync("/outputs/report.txt", `${lines.join("\n")}\n`);
const network = await lookup("example.org").then(
  () => "a network",
  () => "no network",
);
console.log(`reported on ${counts.length} files, with ${network}`);
