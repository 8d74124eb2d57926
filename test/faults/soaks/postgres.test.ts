import { testSoaksOn } from './short-forms';

testSoaksOn('postgres');
