import { Silence, type Clock } from '../../../src/base/clock';
import { StoreCaller, type CallFailure, type Purpose, type Verdict } from '../../../src/connections/kit/caller';
import { meantToPass } from '../../support/meant-to-pass';

/** A clock whose time passes only while something waits for it. */
class LeapingClock implements Clock {
  #time = 0;
  readonly #timers = new Set<{ readonly end: number; readonly callback: () => void }>();
  now = () => this.#time;
  monotonic = () => this.#time;

  /** The process stands still for this long. */
  stall(milliseconds: number): void {
    this.#time += milliseconds;
  }

  after(milliseconds: number, callback: () => void) {
    const timer = { end: this.#time + milliseconds, callback };
    this.#timers.add(timer);
    setImmediate(() => this.#ring());
    return { cancel: () => void this.#timers.delete(timer) };
  }

  #ring(): void {
    const [first] = [...this.#timers].toSorted((a, b) => a.end - b.end);
    if (first === undefined) return;
    this.#timers.delete(first);
    this.#time = Math.max(this.#time, first.end);
    first.callback();
  }
}

class ProbeCaller extends StoreCaller {
  protected readonly store = 'Probe';
  failure: CallFailure | undefined;
  /** The milliseconds that each attempt was given. */
  readonly spans: number[] = [];

  ask(answers: readonly unknown[], purpose: Partial<Purpose> = {}): Promise<unknown> {
    return this.insist({ consequence: 'nothing was asked', ...purpose }, async (milliseconds) => {
      const answer = answers[Math.min(this.spans.push(milliseconds), answers.length) - 1];
      if (typeof answer === 'string') return answer;
      if (answer instanceof Silence)
        await new Promise<void>((done) => void this.settings.clock.after(milliseconds, done));
      throw answer;
    });
  }

  protected verdictOn(error: unknown): Verdict {
    return error instanceof Silence ? 'lost' : (error as { readonly verdict: Verdict }).verdict;
  }

  protected explain(failure: CallFailure, { consequence }: Purpose): Error {
    this.failure = failure;
    return this.unavailable({ consequence, ...failure });
  }
}

const failing = (verdict: Verdict) => Object.assign(new Error(verdict), { verdict });

let clock: LeapingClock;
let caller: ProbeCaller;

beforeEach(() => {
  clock = new LeapingClock();
  caller = new ProbeCaller({ name: 'main', address: 'probe://here', clock, deadline: meantToPass(5) });
});

it('retries a passing error until the store serves the call', async () => {
  expect(await caller.ask([failing('passing'), failing('passing'), 'served'])).toBe('served');
});

it('reports the store as unavailable, in its own words, when a passing error lasts until the deadline', async () => {
  await expect(caller.ask([failing('passing')])).rejects.toMatchObject({
    message: 'Probe at probe://here did not answer in 5 s (passing); nothing was asked. Is it running?',
    facts: { uncertain: false },
  });
  expect(caller.settings.clock.monotonic()).toBeLessThan(5000);
  expect(caller.spans.length).toBeGreaterThan(5);
});

it('does not send a call after its deadline, which would only leave a doubt, even if a pause took far too long', async () => {
  const asking = caller.ask([failing('passing')]);
  // Between the first attempt and the next one.
  await Promise.resolve();
  clock.stall(6000);

  await expect(asking).rejects.toMatchObject({ facts: { uncertain: false } });
  expect(caller.spans).toEqual([5000]);
});

it('does not repeat a call whose answer was lost if it might then be done twice', async () => {
  await expect(caller.ask([failing('lost'), 'again'])).rejects.toMatchObject({ facts: { uncertain: true } });
  expect(caller.failure!.late).toBe(false);
});

it('waits for a silent store until the deadline, or half of it if the call can be repeated', async () => {
  await expect(caller.ask([new Silence(), 'again'])).rejects.toMatchObject({ facts: { uncertain: true } });
  expect(await caller.ask(['', new Silence(), 'again'], { repeatable: true })).toBe('again');
  expect(caller.spans.slice(0, 2)).toEqual([5000, 2500]);
});

it('does not retry a final error', async () => {
  await expect(caller.ask([failing('final'), 'again'])).rejects.toMatchObject({ facts: { uncertain: false } });
});

it('gives a long poll its own time in addition to the deadline', async () => {
  expect(await caller.ask(['polled'], { repeatable: true, waits: 20 })).toBe('polled');
  expect(caller.spans).toEqual([22_500]);
});

it('waits for pending calls before it closes', async () => {
  let over = false;
  const call = caller.ask([failing('passing'), 'served']).then(() => (over = true));

  await caller.idle();

  expect(over).toBe(true);
  await call;
});
