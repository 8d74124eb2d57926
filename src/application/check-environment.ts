/** Checks the parts of a manager. The natural mistake is to pass only a configuration, which is the second argument. */
import { ConfigurationError } from './errors';
import type { QueueEnvironment } from './queue-manager';

const EXAMPLE =
  "new QueueManager({ connectors: builtInConnectors, logger: new ConsoleLogger() }, { connections: { … } }), both from 'onqueue'";

/** @throws ConfigurationError */
export function checkedEnvironment(environment: QueueEnvironment): QueueEnvironment {
  const given: unknown = environment?.connectors;
  if (typeof given === 'object' && given !== null) return environment;
  const isConfiguration = ['connections', 'default'].some((key) => key in Object(environment));
  const problem = isConfiguration
    ? `missing. The configuration is the second argument: ${EXAMPLE}`
    : `missing; expected an object of connectors by driver: ${EXAMPLE}`;
  throw new ConfigurationError([{ path: 'connectors', problem }], 'the first argument of new QueueManager');
}
