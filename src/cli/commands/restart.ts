/** `restart`: tells all workers to finish their jobs and start anew. */
import { CapabilityError } from '../../connections/errors';
import type { QueueManager } from '../../application/queue-manager';
import { type Call, defineCommand } from '../command';
import { errorText } from '../error-text';
import { CONNECTION } from '../flags';
import { keepingConnections, memoryRemark, noteMemory } from '../named-queues';

export const restart = defineCommand({
  name: 'restart',
  summary: 'tell all workers to finish their jobs and restart, as after a deployment',
  description:
    'The order reaches workers on all machines, through the stores of all connections or of the named one. onqueue work ' +
    'restarts its processes by itself; other workers, including those with --once or --no-supervisor, exit, and whatever ' +
    'started them must start them again. The command does not wait for them, and does not affect workers that start later.',
  examples: [
    ['onqueue restart', 'all workers'],
    ['onqueue restart --connection=redis', 'workers of one connection'],
  ],
  flags: { connection: CONNECTION },
  async run(call) {
    const { connection } = call.flags;
    const manager = await call.open();
    const names = connection === undefined ? connectionsWithWorkers(manager) : [manager.connection(connection).name];
    for (const name of names) noteMemory(call, manager, [name]);
    // An unreachable store must neither stop nor delay the order to the workers of others.
    const answers = await Promise.all(names.map((name) => tell(call, manager, name)));
    const told = answers.filter((answer) => answer !== undefined);
    const lines = told.map(
      ({ connection: name, address }) => `Told the workers of ${name} (${address}) to finish their jobs and restart.`,
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
        ? `its driver ${error.facts.driver} takes no orders. Stop them with SIGTERM, and start them again. (${error.code})`
        : errorText(error);
    call.fail(`The workers of ${name} were not told: `, reason);
    return undefined;
  }
}

function connectionsWithWorkers(manager: QueueManager): readonly string[] {
  const names = keepingConnections(manager).filter((name) => memoryRemark(manager, name) === undefined);
  return names.length > 0 ? names : [manager.defaultConnection];
}
