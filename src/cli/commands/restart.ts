/** `restart`: tells all workers to finish what they run and start anew. */
import { CapabilityError } from '../../connections/errors';
import type { QueueManager } from '../../application/queue-manager';
import { type Call, defineCommand } from '../command';
import { errorText } from '../error-text';
import { CONNECTION } from '../flags';
import { keepingConnections, memoryRemark, noteMemory } from '../named-queues';

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
  flags: { connection: CONNECTION },
  async run(call) {
    const { connection } = call.flags;
    const manager = await call.open();
    const names = connection === undefined ? connectionsWithWorkers(manager) : [manager.connection(connection).name];
    for (const name of names) noteMemory(call, manager, [name]);
    // A store that is away must not keep the order from the workers of others, nor delay it.
    const answers = await Promise.all(names.map((name) => tell(call, manager, name)));
    const told = answers.filter((answer) => answer !== undefined);
    const lines = told.map(
      ({ connection: name, address }) =>
        `Told the workers of ${name} (${address}) to finish what they run and start anew.`,
    );
    call.output.result(told, ...lines);
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
