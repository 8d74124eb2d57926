import { testSoaksOn } from './short-forms';

testSoaksOn('cluster');
