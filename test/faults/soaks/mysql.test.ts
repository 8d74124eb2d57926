import { testSoaksOn } from './short-forms';

testSoaksOn('mysql');
