-- records.lua: what stands of a record.

-- Its value, unless it is over. Nil: there is none.
local function standing(values, ends, id, moment)
  local ending, value = call('ZSCORE', ends, id), call('HGET', values, id)
  return ending and tonumber(ending) * 1000000 > moment and value or nil
end
