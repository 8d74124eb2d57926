-- take.lua: takes the unique keys of pushed jobs.
--
--   after unique.lua

-- Longer than what Redis keeps in a list: it searches a hash of up to 512 short values from end to end.
local LONG = string.rep('-', 65)

-- The place of the entry with the key of this number.
local function place_of(places, number)
  for place in string.gmatch(places, '%d+') do
    number = number - 1
    if number == 0 then return tonumber(place) end
  end
end

-- Finds which of `count` keys are free, and what to store for them; at `first` stand the places of their entries, then
-- the keys, then the ties. For keys that other jobs hold, including jobs of this call, `refused` has the places, and
-- `held` the places with their holders' ids.
local function look_up(unique, first, count)
  local args, moment, taken, fields, last, held, refused = ARGV, clock(), {}, {}, 0, {}, nil
  for i, kept in ipairs(call('HMGET', unique, unpack(args, first + 1, first + count))) do
    local key = args[first + i]
    kept = taken[key] or kept
    local holder = kept and holder_of(kept, moment)
    if holder then
      local place = place_of(args[first], i)
      refused = refused or {}
      refused[place], held[#held + 1], held[#held + 2] = true, place, holder
    else
      local value = kept_of(args[first + count + i], moment)
      taken[key], last = value, last + 2
      fields[last - 1], fields[last] = key, value
    end
  end
  return { fields = fields, refused = refused, held = held }
end

-- Takes the free keys, and returns the function that writes their jobs: if it is refused, it frees the keys again.
-- Only a push shows whether pushing is permitted. The first value makes the hash a table at once; the one behind it
-- replaces it in the same command.
local function take(unique, keys, ready)
  local fields = keys.fields
  if #fields == 0 then return call end
  call('LLEN', ready)
  call('HSET', unique, fields[1], LONG, unpack(fields))
  return function(...)
    local reply = redis.pcall(...)
    if type(reply) ~= 'table' or not reply.err then return end
    for i = 1, #fields, 2 do redis.pcall('HDEL', unique, fields[i]) end
    error(reply)
  end
end
