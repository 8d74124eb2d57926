/** The soaks, in the order in which they are told. */
import { frozenWorkers } from './frozen-workers';
import { killedWorkers } from './killed-workers';
import { longJob } from './long-job';
import { stoppedWorkers } from './stopped-workers';
import type { Soak } from './soak';

export const soaks = [killedWorkers, frozenWorkers, longJob, stoppedWorkers] as readonly Soak[];
