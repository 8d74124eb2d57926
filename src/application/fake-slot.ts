/** Where the test kit, a layer above, puts the function behind `Queue.fake()`; its types merge into `FakeFunction`. */

/** `Queue.fake`. The test kit adds its call signature. */
// oxlint-disable-next-line typescript/no-empty-object-type -- it is filled by declaration merging
export interface FakeFunction {}

let slot!: FakeFunction;

export function setFakeFactory(fake: FakeFunction): void {
  slot = fake;
}

export function fakeFactory(): FakeFunction {
  return slot;
}
