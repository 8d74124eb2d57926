/** The soaks, in the order of the report. */
import { blockedLoop } from './blocked-loop';
import { frozenWorkers } from './frozen-workers';
import { fuzzedPayloadsAmongGoodOnes } from './fuzzed-payloads';
import { hostileTextsInAllPlaces } from './fuzzed-scripts';
import { halfOpen } from './half-open';
import { keptSchedules } from './kept-schedules';
import { killedBatches } from './killed-batches';
import { killedChains } from './killed-chains';
import { killedLanes } from './killed-lanes';
import { killedRedis } from './killed-redis';
import { killedSecrets } from './killed-secrets';
import { killedSteps } from './killed-steps';
import { killedWorkers } from './killed-workers';
import { largePayloads } from './large-payloads';
import { limitedQueue } from './limited-queue';
import { limitedRate } from './limited-rate';
import { longJob } from './long-job';
import { mixedWork } from './mixed-work';
import { movedClock } from './moved-clock';
import type { Soak } from './soak';
import { uniqueKeys } from './unique-keys';
import { stoppedWorkers } from './stopped-workers';

export const soaks = [
  killedWorkers,
  killedSteps,
  killedChains,
  killedBatches,
  killedSecrets,
  uniqueKeys,
  limitedQueue,
  limitedRate,
  killedLanes,
  keptSchedules,
  frozenWorkers,
  longJob,
  blockedLoop,
  killedRedis,
  halfOpen,
  stoppedWorkers,
  fuzzedPayloadsAmongGoodOnes,
  hostileTextsInAllPlaces,
  largePayloads,
  movedClock,
  mixedWork,
] as readonly Soak[];
