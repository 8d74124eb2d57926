/** Puts the layers together: fills what the lower ones left open for the upper ones. Loaded first by every entry point. */
import 'reflect-metadata';
import { Bus, setManagerFactory, fakeFactory, setFakeFactory } from './application/default-manager';
import { builtInConnectors } from './connections/built-in';
import { offerEntries } from './copies';
import { setJobDispatcher } from './job/job';
import { setScheduleReader } from './job/options';
import { timing } from './schedule/cadence';
import { defaultLogger } from './base/logger';
import { QueueManager } from './application/queue-manager';

offerEntries({
  index: () => require('./index') as object,
  testing: () => require('./testing') as object,
  dashboard: () => require('./dashboard') as object,
  exported: {},
});
setJobDispatcher(Bus);
setScheduleReader(timing);
setManagerFactory(() => new QueueManager({ connectors: builtInConnectors, logger: defaultLogger() }));
// Loaded with the first fake, and then replaces this factory: programs in production do not pay for the test kit.
setFakeFactory((options) => {
  require('./testing/fake-queue');
  return fakeFactory()(options);
});
// Under Jest loaded at once: after jest.resetModules() it would get modules of its own.
if (process.env['JEST_WORKER_ID'] !== undefined) require('./testing');
