/** Where the test kit puts what `Queue.fake()` does: it lies above, and says its types by merging with `FakeFunction`. */

/** `Queue.fake`. The test kit adds the signature of the call to it. */
// oxlint-disable-next-line typescript/no-empty-object-type -- it is filled by declaration merging
export interface FakeFunction {}

let slot!: FakeFunction;

export function setFakeFactory(fake: FakeFunction): void {
  slot = fake;
}

export function fakeFactory(): FakeFunction {
  return slot;
}
