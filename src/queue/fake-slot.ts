/** Where the test kit puts what `Queue.fake()` does: it lies above, and says its types by merging with `FakeSlot`. */
import { NoFakeError } from './errors';

/** The test kit adds `fake`, the function, to it. */
// oxlint-disable-next-line typescript/no-empty-object-type -- it is filled by declaration merging
export interface FakeSlot {}

export type FakeFunction = FakeSlot extends { readonly fake: infer Fake extends (...options: never[]) => object }
  ? Fake
  : (...options: never[]) => object;

let slot: FakeFunction | undefined;

export function setFakeFactory(fake: FakeFunction): void {
  slot = fake;
}

/** @throws NoFakeError */
export function fakeFactory(): FakeFunction {
  if (slot === undefined) throw new NoFakeError();
  return slot;
}
