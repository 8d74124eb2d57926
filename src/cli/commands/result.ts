/** `result`: what a job gave, or why there is nothing. */
import type { OnqueueError } from '../../base/onqueue-error';
import { endedCancelled, JobFailedError, resultNotKept, resultPending } from '../../operations/errors';
import { shownResult } from '../../operations/kept-end';
import { InvalidPayloadError, PayloadVersionError, UnknownClassError } from '../../payload/errors';
import { defineCommand } from '../command';
import { resultText } from '../decoded-data';
import { CONNECTION, reveal, text, time } from '../flags';
import { openConnection } from '../named-queues';

export const result = defineCommand({
  name: 'result',
  summary: 'show the result of a job',
  description:
    'Its class must set keepResult. Secrets are masked, and what is encrypted stays sealed, unless they are revealed. The exit code is 1 if there is no result.',
  examples: [
    ['onqueue result 0193a6c1-…', 'the result, if there is one by now'],
    ['onqueue result 0193a6c1-… --within=1m', 'waits up to a minute for the end of the job'],
    ['onqueue result 0193a6c1-… --json | jq .value', 'for a program'],
  ],
  words: ['<id>', 'the id, as returned by dispatch and shown in log lines'],
  flags: {
    within: time('how long to wait for the end of the job (default: 0s)'),
    queue: text('<name>', 'its queue (default: searches all queues of the connection)'),
    connection: CONNECTION,
    reveal: reveal(),
  },
  async run(call) {
    const { flags, output } = call;
    const [id = ''] = call.words;
    const { manager, connection } = await openConnection(call);
    const problem = await problemOf(connection.result(id, { queue: flags.queue, within: flags.within ?? '0s' }));
    const driver = manager.driver(connection.name);
    const shown = problem === undefined ? await shownResult(driver, manager, id, flags.reveal) : undefined;
    if (shown?.kind === 'completed') {
      output.result({ id, state: 'completed', value: shown.value, types: shown.types }, resultText(shown, manager));
      return;
    }
    const { state, told } = problem ?? {
      state: 'unknown',
      told: `There is no result of ${id} on ${connection.name}: its class sets no keepResult, it is no longer kept, or there was no such job.`,
    };
    output.result({ id, state, problem: told });
    call.fail(told);
  },
});

interface Problem {
  readonly state: 'pending' | 'failed' | 'cancelled' | 'not-kept';
  readonly told: string;
}

/** Undefined if the job has ended well, as far as is known; also if only its classes are not known here. */
async function problemOf(asked: Promise<unknown>): Promise<Problem | undefined> {
  try {
    await asked;
    return undefined;
  } catch (error) {
    if (UNREADABLE.some((Unreadable) => error instanceof Unreadable)) return undefined;
    const state = STATES.find(([, isThis]) => isThis(error))?.[0];
    if (state === undefined) throw error;
    const { message } = error as OnqueueError;
    return { state, told: message.replace("{ within: '5m' }", '--within=5m') };
  }
}

const UNREADABLE = [InvalidPayloadError, PayloadVersionError, UnknownClassError];

const STATES: readonly (readonly [Problem['state'], (error: unknown) => boolean])[] = [
  ['pending', (error) => resultPending.is(error)],
  ['failed', (error) => error instanceof JobFailedError],
  ['cancelled', (error) => endedCancelled.is(error)],
  ['not-kept', (error) => resultNotKept.is(error)],
];
