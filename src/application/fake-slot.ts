/** Where the test kit puts what `Queue.fake()` does: it lies above, and says its types by merging with `FakeFunction`. */
import { NoFakeError } from './errors';

/** `Queue.fake`. The test kit adds the signature of the call to it. */
// oxlint-disable-next-line typescript/no-empty-object-type -- it is filled by declaration merging
export interface FakeFunction {}

let slot: FakeFunction | undefined;

export function setFakeFactory(fake: FakeFunction): void {
  slot = fake;
}

/** @throws NoFakeError */
export function fakeFactory(): FakeFunction {
  if (slot === undefined) throw new NoFakeError();
  return slot;
}
