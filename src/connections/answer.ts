/** What a store has answered, whenever it comes. Not in the contract itself, which is exported as types alone. */
import type { Answer, RenewResult, SettleResult } from './contract';

/** The result, also one that comes later. */
export async function resultOf<Result extends SettleResult | RenewResult>(answer: Answer<Result>): Promise<Result> {
  return typeof answer === 'string' ? answer : answer.later;
}
