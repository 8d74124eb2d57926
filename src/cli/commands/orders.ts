/** `cancel` and `restart`: what workers are told through the stores of their jobs. */
import type { CancelResult } from '../../connections/control';
import { CapabilityError } from '../../connections/errors';
import type { QueueManager } from '../../application/queue-manager';
import { type Call, defineCommand } from '../command';
import { errorText } from '../error-text';
import { text } from '../flags';
import { keepingConnections, memoryRemark, noteMemory } from '../named-queues';

const MEANING: Readonly<Record<Exclude<CancelResult, 'unknown'>, string>> = {
  removed: 'it waited, and is gone',
  signalled: 'it is running, and is told to stop',
  marked: 'it was not found at once, and ends as cancelled when a worker meets it',
};

export const cancel = defineCommand({
  name: 'cancel',
  summary: 'keep jobs from running, or tell those that run to stop',
  description:
    'A job that waits is removed. One that runs is told to stop within a second: its signal aborts. Failed jobs ' +
    'stay (see forget). The exit code is 1 when one of the ids is not known; the others are cancelled all the same.',
  examples: [
    ['onqueue cancel 0193a6c1-…', 'this one, of the default connection'],
    ['onqueue cancel --queue=mail 0193a6c1-…', 'faster where many queues are in use'],
    ["onqueue cancel --reason='wrong address' 0193a6c1-…", 'the job, the cancelled hook and the log line say why'],
    ['onqueue cancel --connection=redis --json 0193a6c1-…', 'for a program'],
  ],
  words: ['<ids...>', 'ids, as dispatch gives them and log lines show them'],
  flags: {
    queue: text('<name>', 'where they are (default: all queues of the connection are looked at)'),
    reason: text('<text>', 'why, in one line, for those who hear of it'),
    connection: text('<name>', 'connection to use in place of the default one'),
  },
  async run(call) {
    const { flags, output } = call;
    const manager = await call.open();
    const connection = manager.connection(flags.connection);
    noteMemory(call, manager, [flags.connection]);
    const results: { id: string; result: CancelResult }[] = [];
    for (const id of new Set(call.words)) {
      const result = await connection.cancel(id, flags);
      results.push({ id, result });
      if (result === 'unknown') {
        const where = [`on ${connection.name}`, ...(flags.queue === undefined ? [] : [`queue ${flags.queue}`])];
        call.fail(`There is no job '${id}' ${where.join(', ')}: it has ended, or was never there.`);
      } else output.line(`${id}  ${result}: ${MEANING[result]}`);
    }
    output.result(results);
  },
});

export const restart = defineCommand({
  name: 'restart',
  summary: 'tell all workers to finish what they run and start anew, as after a deploy',
  description:
    'It reaches the workers of all machines through the stores of all connections, or of the one that is named. onqueue work ' +
    'starts its processes anew by itself; other workers, also those of --once and --no-supervisor, end, and whoever started ' +
    'them starts them again. It does not wait for them. Workers that start later are not meant.',
  examples: [
    ['onqueue restart', 'all workers'],
    ['onqueue restart --connection=redis', 'those of one connection'],
  ],
  flags: { connection: text('<name>', 'connection to use in place of the default one') },
  async run(call) {
    const { connection } = call.flags;
    const manager = await call.open();
    const names = connection === undefined ? connectionsWithWorkers(manager) : [manager.connection(connection).name];
    for (const name of names) noteMemory(call, manager, [name]);
    // A store that is away must not keep the order from the workers of others, nor delay it.
    const answers = await Promise.all(names.map((name) => tell(call, manager, name)));
    const told = answers.filter((answer) => answer !== undefined);
    call.output.result(told);
    for (const { connection: name, address } of told) {
      call.output.line(`Told the workers of ${name} (${address}) to finish what they run and start anew.`);
    }
  },
});

async function tell(
  call: Call,
  manager: QueueManager,
  name: string,
): Promise<{ connection: string; address: string } | undefined> {
  try {
    const connection = manager.connection(name);
    await connection.restart();
    return { connection: name, address: connection.address };
  } catch (error) {
    const reason =
      error instanceof CapabilityError
        ? `its driver ${error.facts.driver} takes no orders. Stop those that run by SIGTERM, and start them anew. (${error.code})`
        : errorText(error);
    call.fail(`The workers of ${name} were not told: ${reason}`);
    return undefined;
  }
}

function connectionsWithWorkers(manager: QueueManager): readonly string[] {
  const names = keepingConnections(manager).filter((name) => memoryRemark(manager, name) === undefined);
  return names.length > 0 ? names : [manager.defaultConnection];
}
