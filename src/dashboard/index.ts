/** The public surface of the dashboard. */
import '../composition';
import { giveWay } from '../copies';

export type { Authorization, Role } from './access/access';
export { type Dashboard, dashboard, type DashboardOptions } from './dashboard';

giveWay('dashboard', module);
