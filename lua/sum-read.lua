-- sum-read.lua: read what sums have come to.
--
--   KEYS[1] sum         hash    '+' and what is counted -> what it has come to; 'end' -> when the sums are over (µs)
--   ARGV[1] offset      number  see parts/base.lua
--
--   returns  {'read', fields}      (fields: each with its value, 'end' among them; none where they are over)
--   keeps    writes nothing
--   cost     O(1) for each field

local sum = KEYS[1]

local ending = call('HGET', sum, 'end')
if not ending or tonumber(ending) <= clock() then return { 'read', {} } end
return { 'read', call('HGETALL', sum) }
