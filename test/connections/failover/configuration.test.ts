import { registry } from '../../../src/job/registry';
import { checkConfiguration } from '../../../src/application/configuration/check-configuration';
import '../../../src/connections/built-in';

const drivers = ['redis', 'database', 'memory', 'sync', 'null', 'failover'];

/** The mistakes in a failover of these connections. */
function mistakes(connections: unknown, more: object = {}): string[] {
  const configuration = {
    default: 'both',
    connections: {
      redis: { driver: 'redis' },
      database: { driver: 'database' },
      nowhere: { driver: 'null' },
      atOnce: { driver: 'sync' },
      both: { driver: 'failover', connections, ...more },
    },
  };
  const { mistakes: found } = checkConfiguration(configuration, { drivers, registry: registry() });
  return found.map(({ path, problem }) => `${path}: ${problem}`);
}

describe('the configuration of a failover', () => {
  it('accepts names of existing connections', () => {
    expect(mistakes(['redis', 'database'], { queue: 'jobs', retryAfter: '1m', maxPayload: '2mb' })).toEqual([]);
  });

  it.each([
    [
      ['redis', 'databse'],
      "connections.both.connections[1]: there is no connection 'databse'; did you mean 'database'?",
    ],
    [['redis', 'both'], "connections.both.connections[1]: 'both' is a failover itself; name its connections here"],
    [['redis', 'sync'], /'sync' would run jobs within the dispatch/],
    [['redis', 'atOnce'], /'atOnce' would run jobs within the dispatch/],
    [['nowhere', 'redis'], /connections\[0\]: 'nowhere' would throw jobs away/],
    [['redis', 'database', 'redis'], /connections\[2\]: 'redis' is named twice/],
    [['redis'], /names of two connections or more, such as \['redis', 'database'\]/],
    [['redis', 7], /names of two connections or more/],
    ['redis', /names of two connections or more/],
    [undefined, /names of two connections or more/],
  ])('refuses %j and names the remedy', (connections, mistake) => {
    const found = mistakes(connections);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(mistake);
  });

  it('refuses keys that belong to its connections', () => {
    expect(mistakes(['redis', 'database'], { url: 'redis://h' })).toEqual([
      expect.stringContaining('connections.both.url: unknown key'),
    ]);
  });

  it('refuses a database number for a cluster', () => {
    const configuration = { connections: { main: { driver: 'redis', cluster: ['redis://h:1'], db: 1 } } };
    const { mistakes: found } = checkConfiguration(configuration, { drivers, registry: registry() });
    expect(found).toEqual([{ path: 'connections.main.db', problem: expect.stringContaining('database 0 alone') }]);
  });
});
