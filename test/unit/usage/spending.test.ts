import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ModelPrice } from "../../../src/contract/gateway.ts";
import { modelPrices, modelPricesDate, withDefaultPrices } from "../../../src/usage/model-prices.ts";
import {
  addSpending,
  countBudgetTokens,
  maxSpending,
  spendingOfCall,
  zeroSpending,
  zeroTokenCounts,
} from "../../../src/usage/spending.ts";

const tokens = { inputTokens: 1000, outputTokens: 100, cacheReadTokens: 10_000, cacheWriteTokens: 500 };
const counts = { ...zeroTokenCounts, ...tokens };
const price = (model: string, input: number): ModelPrice => ({
  ...{ model, input, output: 5 * input, cacheRead: input / 10, cacheWrite: 1.25 * input },
});
const prices = [price("big-", 10), price("big-model-2", 1), price("small", 0.1)];

const amounts = fc.nat({ max: 1e9 });
const spendings = fc.record({
  ...{ calls: amounts, inputTokens: amounts, outputTokens: amounts, cacheReadTokens: amounts },
  ...{
    cacheWriteTokens: amounts,
    costUsd: fc.double({ min: 0, max: 1e6, noNaN: true }),
    unpricedTokens: amounts,
  },
});

describe("sums of spending", () => {
  test("begin with nothing and never become less", () => {
    fc.assert(
      fc.property(spendings, spendings, (one, other) => {
        const sum = addSpending(one, other);

        expect(addSpending(zeroSpending, one)).toEqual(one);
        expect(sum).toEqual(addSpending(other, one));
        expect(countBudgetTokens(sum)).toBe(countBudgetTokens(one) + countBudgetTokens(other));
        for (const name of Object.keys(one) as (keyof typeof one)[])
          expect(sum[name]).toBeGreaterThanOrEqual(Math.max(one[name], other[name]));
      }),
    );
  });

  test("that two keep are merged field by field, and the same again changes nothing", () => {
    const host = { ...zeroSpending, calls: 3, inputTokens: 5, costUsd: 0.25 };
    const gateway = { ...zeroSpending, calls: 2, outputTokens: 7, costUsd: 0.5 };
    const merged = { ...zeroSpending, calls: 3, inputTokens: 5, outputTokens: 7, costUsd: 0.5 };

    expect(maxSpending(host, gateway)).toEqual(merged);
    expect(maxSpending(merged, gateway)).toEqual(merged);
  });

  test("of a million small calls keep their cents", () => {
    const call = spendingOfCall(prices, "small", {
      ...counts,
      inputTokens: 1,
      outputTokens: 0,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
    });
    let sum = zeroSpending;
    for (let count = 0; count < 100_000; count += 1) sum = addSpending(sum, call);

    expect(call.costUsd).toBeCloseTo(1e-7, 15);
    expect(sum.costUsd).toBeCloseTo(0.01, 9);
  });
});

describe("what a call costs", () => {
  test("is each kind of token at its own price", () => {
    expect(spendingOfCall(prices, "big-model-2", counts)).toEqual({
      ...{ calls: 1, ...tokens, unpricedTokens: 0 },
      costUsd: (1000 + 100 * 5 + 10_000 / 10 + 500 * 1.25) / 1e6,
    });
  });

  test.each([
    ["big-model-2-20260101", 1],
    ["big-model-1", 10],
    ["BIG-Model-2", 1],
    ["anthropic/big-model-2", 1],
    ["openrouter/anthropic/big-model-2", 1],
    ["models/big-model-2", 1],
    ["publishers/google/models/big-x", 10],
    ["us.anthropic.big-model-2-v1:0", 1],
  ])("%s is the longest beginning's", (model, input) => {
    const { costUsd } = spendingOfCall(prices, model, {
      ...counts,
      outputTokens: 0,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
    });
    expect(costUsd).toBeCloseTo((1000 * input) / 1e6, 12);
  });

  test("of a model that is hidden is the dearest", () => {
    const dearest = price("any", 7);
    expect(spendingOfCall([price("x", 1), dearest, price("y", 2)], null, counts)).toEqual(
      spendingOfCall([dearest], "any", counts),
    );
  });

  test.each(["", "other", "not-big-model-2", "bi", "__proto__", "constructor"])(
    "%s is not known: its tokens are counted apart",
    (model) => {
      expect(spendingOfCall(prices, model, counts)).toMatchObject({
        costUsd: 0,
        unpricedTokens: 11_600,
        calls: 1,
      });
    },
  );

  test("of two prices for the same beginning is the first", () => {
    expect(spendingOfCall([price("x", 1), price("x", 2)], "x", counts).costUsd).toBe(
      spendingOfCall([price("x", 1)], "x", counts).costUsd,
    );
  });

  test("is more where a cache is kept for an hour, the service is faster, or there are fees", () => {
    const input = {
      ...counts,
      inputTokens: 0,
      outputTokens: 0,
      cacheReadTokens: 0,
      cacheWriteTokens: 1_000_000,
    };
    expect(spendingOfCall(prices, "big-model-2", input).costUsd).toBeCloseTo(1.25);
    expect(
      spendingOfCall(prices, "big-model-2", { ...input, longCacheWriteTokens: 1_000_000 }).costUsd,
    ).toBeCloseTo(2);
    expect(spendingOfCall(prices, "big-model-2", { ...input, priceFactor: 6 }).costUsd).toBeCloseTo(7.5);
    expect(spendingOfCall(prices, "big-model-2", { ...input, feeUsd: 0.5 }).costUsd).toBeCloseTo(1.75);
    expect(spendingOfCall(prices, "other", { ...input, feeUsd: 0.5 })).toMatchObject({
      costUsd: 0.5,
      unpricedTokens: 1_000_000,
    });
  });

  test("is more by the token for a long prompt, whatever is its price", () => {
    const long = {
      ...counts,
      inputTokens: 0,
      cacheReadTokens: 200_001,
      cacheWriteTokens: 0,
      outputTokens: 1000,
    };
    const short = { ...long, cacheReadTokens: 200_000 };
    const own = withDefaultPrices([
      { model: "gemini-2.5-pro", input: 1, output: 10, cacheRead: 0.1, cacheWrite: 1 },
    ]);

    expect(spendingOfCall(own, "gemini-2.5-pro", short).costUsd).toBeCloseTo(0.02 + 0.01, 9);
    expect(spendingOfCall(own, "models/gemini-2.5-pro", long).costUsd).toBeCloseTo(0.0400002 + 0.015, 9);
  });
});

describe("the shipped prices", () => {
  const inputPrice = (model: string, own: readonly ModelPrice[] = []): number =>
    spendingOfCall(withDefaultPrices(own), model, {
      ...counts,
      outputTokens: 0,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
    }).costUsd * 1000;

  test.each([
    ["claude-opus-5-5", 4],
    ["claude-opus-4-6[1m]", 5],
    ["claude-opus-4-1-20250805", 15],
    ["claude-3-opus-20240229", 15],
    ["claude-sonnet-5-5", 2],
    ["claude-sonnet-4-5-20250929", 3],
    ["claude-haiku-4-5-20251001", 1],
    ["claude-haiku-5-5", 0.1],
    ["gpt-5", 1.25],
    ["gpt-5-codex", 1.25],
    ["gpt-5-mini-2025-08-07", 0.25],
    ["gpt-5.1-codex-max", 1.25],
    ["gpt-5.3-codex", 1.75],
    ["gpt-5.4-nano", 0.2],
    ["gpt-6.1-terra", 1],
    ["gpt-4.1-mini", 0.4],
    ["gpt-4o-mini", 0.15],
    ["o3", 2],
    ["o4-mini", 1.1],
    ["gemini-2.5-pro", 1.25],
    ["gemini-2.5-flash-lite-preview-09-2025", 0.1],
    ["gemini-3-pro-preview", 2],
    ["gemini-3.5-flash", 1.5],
  ])("know %s", (model, input) => {
    expect(inputPrice(model)).toBeCloseTo(input, 9);
  });

  test.each([
    ["claude-epic-7", 15],
    ["gpt-5.9-nova", 5],
    ["gpt-7", 10],
    ["gemini-4-pro", 4],
  ])("take %s, which nobody knows yet, for a dear one", (model, input) => {
    expect(inputPrice(model)).toBeCloseTo(input, 9);
  });

  test("are plausible, each beginning once, and fit into an admission", () => {
    expect(modelPricesDate).toMatch(/^\d{4}-\d\d-\d\d$/);
    expect(new Set(modelPrices.map(({ model }) => model)).size).toBe(modelPrices.length);
    expect(modelPrices.length).toBeLessThan(500);
    for (const { model, input, output, cacheRead, cacheWrite } of modelPrices) {
      expect(model).toBe(model.toLowerCase());
      expect(input).toBeGreaterThan(0);
      expect(cacheRead).toBeGreaterThan(0);
      expect(cacheRead).toBeLessThanOrEqual(input);
      expect(cacheWrite).toBeGreaterThanOrEqual(input);
      if (!model.includes("embedding")) expect(output).toBeGreaterThan(input);
    }
  });

  test("give way to the user's own for the same beginning", () => {
    const own = price("GPT-5", 42);
    expect(withDefaultPrices([own])[0]).toBe(own);
    expect(withDefaultPrices([own])).toHaveLength(modelPrices.length);
    expect(inputPrice("gpt-5", [own])).toBeCloseTo(42, 9);
    expect(inputPrice("gpt-5-mini", [own])).toBeCloseTo(0.25, 9);
    expect(inputPrice("my-model", [price("my-", 3)])).toBeCloseTo(3, 9);
  });
});
