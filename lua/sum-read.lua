-- sum-read.lua: read a sum.
--
--   KEYS[1] sum         hash    '+' and the name of an amount -> its sum; 'end' -> when the sums expire (µs)
--   ARGV[1] offset      number  see parts/base.lua
--
--   returns  {'read', fields}      (fields: each with its value, including 'end'; none if they have expired)
--   keeps    writes nothing
--   cost     O(1) for each field

local sum = KEYS[1]

local ending = call('HGET', sum, 'end')
if not ending or tonumber(ending) <= clock() then return { 'read', {} } end
return { 'read', call('HGETALL', sum) }
