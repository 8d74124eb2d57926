/** What can be done with Redis: all that there is. */
import { ALL_CAPABLE } from '../kit/capabilities';

export const REDIS = ALL_CAPABLE;
