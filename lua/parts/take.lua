-- take.lua: takes the unique keys of pushed jobs.
--
--   after unique.lua

-- Finds which of `count` keys, whose arguments begin at `first`, are free, and what to store for them. For keys that
-- other jobs hold, including jobs of this call, `refused` has the places, and `held` the places with their holders'
-- ids.
local function look_up(unique, first, count)
  local moment, keys, taken, fields, held, refused = clock(), {}, {}, {}, {}, nil
  for i = 1, count do keys[i] = ARGV[first + 3 * i - 2] end
  for i, kept in ipairs(call('HMGET', unique, unpack(keys))) do
    local key, place, tie = keys[i], ARGV[first + 3 * i - 3], ARGV[first + 3 * i - 1]
    kept = taken[key] or kept
    local holder = kept and holder_of(kept, moment)
    if holder then
      refused = refused or {}
      refused[tonumber(place)], held[#held + 1], held[#held + 2] = true, tonumber(place), holder
    else
      taken[key] = kept_of(tie, moment)
      fields[#fields + 1], fields[#fields + 2] = key, taken[key]
    end
  end
  return { fields = fields, refused = refused, held = held }
end

-- Takes the free keys, and returns the function that writes their jobs: if it is refused, it frees the keys again.
-- Only a push shows whether pushing is permitted.
local function take(unique, keys, ready)
  local fields = keys.fields
  if #fields == 0 then return call end
  call('LLEN', ready)
  call('HSET', unique, unpack(fields))
  return function(...)
    local reply = redis.pcall(...)
    if type(reply) ~= 'table' or not reply.err then return end
    for i = 1, #fields, 2 do redis.pcall('HDEL', unique, fields[i]) end
    error(reply)
  end
end
