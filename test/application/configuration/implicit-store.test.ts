import { builtInConnectors } from '../../../src/connections/built-in';
import { QueueManager } from '../../../src/application/queue-manager';
import { KeptLog } from '../../support/watched-application';

describe('the implicit store', () => {
  const told = (isNamed: boolean): string[] => {
    const log = new KeptLog();
    const manager = new QueueManager({
      connectors: builtInConnectors,
      logger: log,
      folder: '/nowhere/named',
      variables: {},
    });
    if (isNamed) manager.leaveStoreUnnamed();
    manager.driver();
    return log.texts;
  };

  it('is logged once in a process, but not if another process has already logged it', () => {
    expect(told(true)).toEqual([]);
    expect(told(false)).toHaveLength(1);
    expect(told(false)).toEqual([]);
  });
});
