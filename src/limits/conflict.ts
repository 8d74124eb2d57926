/** What a process does if another one has written a record of a limit first. */
import { sleep, type Milliseconds } from '../base/clock';
import type { Application } from '../connections/application';

/** How often it tries again. */
export const MOST_TRIES = 20;

/** The longest pause before it does, so that two processes do not run in step. */
const SPREAD: Milliseconds = 6;

/** @param tries how many there have been */
export async function stepAside({ clock, random }: Application, tries = 1): Promise<void> {
  // A test that moves the clock waits for the job.
  if (clock.isStill !== true) await sleep(clock, random() * SPREAD * tries);
}
