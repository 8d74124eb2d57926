/** The store of a fake's connection, which reports the callbacks of its batches. */
import type { Clock } from '../base/clock';
import type { FollowUp } from '../connections/contract';
import { MemoryStore } from '../connections/memory/memory-store';

export class FakeStore extends MemoryStore {
  readonly #sent: (followUp: FollowUp) => void;

  constructor(name: string, clock: Clock, sent: (followUp: FollowUp) => void) {
    super(name, clock);
    this.#sent = sent;
  }

  protected override sendOfBatch(followUp: FollowUp): void {
    super.sendOfBatch(followUp);
    this.#sent(followUp);
  }
}
