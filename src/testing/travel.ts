/** Moves the clock of a fake, and lets the schedules that come up meanwhile send their jobs, each at its moment. */
import type { Milliseconds } from '../base/clock';
import type { Schedule } from '../schedule/schedule';
import { stateIn } from '../schedule/schedule-states';
import { destinationOf, sendOccurrence } from '../schedule/send-occurrence';
import type { FakeManager } from './fake-manager';
import type { TestClock } from './test-clock';

/** @throws any error of a schedule or its job */
export async function travel(manager: FakeManager, clock: TestClock, to: Milliseconds): Promise<void> {
  let from = clock.now();
  for (;;) {
    const coming = manager.schedules.driven.flatMap((schedule) =>
      schedule.between(from, to, 1).map((at) => ({ schedule, at })),
    );
    if (coming.length === 0) break;
    const at = Math.min(...coming.map((one) => one.at));
    await advanceTo(clock, at);
    for (const { schedule } of coming.filter((one) => one.at === at)) await send(manager, schedule, at);
    from = at;
  }
  await advanceTo(clock, to);
}

/**
 * Nothing is skipped because of an overlap: in reality a worker would have run the first job in between, but a test may not have.
 */
async function send(manager: FakeManager, schedule: Schedule, at: Milliseconds): Promise<void> {
  const destination = { ...destinationOf(schedule, manager), skipsOverlaps: false };
  const state = await stateIn(destination.operations.records, schedule.name);
  if (state?.pausedAt === undefined) await sendOccurrence(schedule, at, at, destination, manager);
}

async function advanceTo(clock: TestClock, moment: Milliseconds): Promise<void> {
  const left = moment - clock.now();
  if (left > 0) await clock.advance(left / 1000);
}
